SELECT * FROM volume_concat(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, array(1, 2)) AS a(x, y, z, nx, ny, nz, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 1, array(3)) AS b(x, y, z, nx, ny, nz, values)),
  axis => 'z');
-- 0	0	0	1	1	2	[1,2]
-- 0	0	2	1	1	1	[3]
