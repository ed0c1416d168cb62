SELECT * FROM volume_unpack(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 2, X'0000803F00000040') AS v(x, y, z, nx, ny, nz, data)),
  dtype => 'float32');
-- 0	0	0	1	1	2	[1.0,2.0]
