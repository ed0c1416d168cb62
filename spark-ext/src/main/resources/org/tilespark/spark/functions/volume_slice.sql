SELECT * FROM volume_slice(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 3, array(1, 2, 3, 4, 5, 6)) AS v(x, y, z, nx, ny, nz, values)),
  slices => '1, ..., 1:');
-- 0	0	0	1	1	2	[5,6]
