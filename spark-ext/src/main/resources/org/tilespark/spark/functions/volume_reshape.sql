SELECT * FROM volume_reshape(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 2, 2, array(1, 2, 3, 4)), (1L, 0L, 0L, 1, 2, 2, array(5, 6, 7, 8)) AS v(x, y, z, nx, ny, nz, values)),
  array(-1, 2))
ORDER BY row;
-- 0	0	2	2	[1,2,3,4]
-- 2	0	2	2	[5,6,7,8]
