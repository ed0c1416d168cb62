SELECT * FROM volume_add(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS a(x, y, z, nx, ny, nz, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(10F, 20F, 30F, 40F)) AS b(x, y, z, nx, ny, nz, values)));
-- 0	0	0	2	1	2	[11.0,22.0,33.0,44.0]
