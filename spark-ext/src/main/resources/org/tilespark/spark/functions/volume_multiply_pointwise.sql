SELECT * FROM volume_multiply_pointwise(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS a(x, y, z, nx, ny, nz, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(10F, 20F, 30F, 40F)) AS b(x, y, z, nx, ny, nz, values)));
-- 0	0	0	2	1	2	[10.0,40.0,90.0,160.0]
