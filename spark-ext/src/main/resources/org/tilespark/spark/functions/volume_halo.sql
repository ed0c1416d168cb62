SELECT * FROM volume_halo(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, array(1, 2)), (0L, 0L, 2L, 1, 1, 1, array(3)) AS v(x, y, z, nx, ny, nz, values)),
  '0,0,1', edge => 'none')
ORDER BY z;
-- 0	0	0	1	1	3	[1,2,3]
-- 0	0	1	1	1	2	[2,3]
