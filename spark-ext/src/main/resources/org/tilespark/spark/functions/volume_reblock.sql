SELECT * FROM volume_reblock(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 3, array(1, 2, 3, 4, 5, 6)) AS v(x, y, z, nx, ny, nz, values)),
  nx => 2, ny => 1, nz => 2)
ORDER BY z;
-- 0	0	0	2	1	2	[1,2,4,5]
-- 0	0	2	2	1	1	[3,6]
