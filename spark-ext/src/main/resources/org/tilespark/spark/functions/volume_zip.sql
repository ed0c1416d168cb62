SELECT * FROM volume_zip(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, array(1F, 5F)) AS a(x, y, z, nx, ny, nz, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, array(3F, 4F)) AS b(x, y, z, nx, ny, nz, values)),
  'a > b');
-- 0	0	0	1	1	2	[0,1]
