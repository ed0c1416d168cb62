SELECT * FROM volume_pencils(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS v(x, y, z, nx, ny, nz, values)),
  axis => 0, first => 1, second => 1)
ORDER BY z;
-- 0	0	0	2	1	1	[1.0,3.0]
-- 0	0	1	2	1	1	[2.0,4.0]
