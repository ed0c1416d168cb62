SELECT * FROM volume_roll(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 3, array(1, 2, 3)) AS v(x, y, z, nx, ny, nz, values)),
  array(0, 0, -1));
-- 0	0	0	1	1	3	[2,3,1]
