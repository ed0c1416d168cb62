SELECT * FROM volume_scale(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS v(x, y, z, nx, ny, nz, values)),
  alpha => -2);
-- 0	0	0	2	1	2	[-2.0,-4.0,-6.0,-8.0]
