SELECT * FROM volume_with_origin(
  TABLE(SELECT * FROM VALUES (4L, 0L, 6L, 1, 1, 2, array(1, 2)) AS v(x, y, z, nx, ny, nz, values)));
-- 0	0	0	1	1	2	[1,2]
