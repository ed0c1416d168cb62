SELECT * FROM volume_map(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 3, array(1F, -2F, 3F)) AS v(x, y, z, nx, ny, nz, values)),
  'clip(v, 0, 2)');
-- 0	0	0	1	1	3	[1.0,0.0,2.0]
