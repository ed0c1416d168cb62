SELECT * FROM volume_fft(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 4, array(1D, 2D, 3D, 4D)) AS v(x, y, z, nx, ny, nz, values)),
  axes => 'z');
-- 0	0	0	1	1	4	[10.0,-2.0,-2.0,-2.0]	[0.0,2.0,0.0,-2.0]

SELECT nx, ny, nz, values, imag FROM volume_fft(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 4, array(1D, 2D, 3D, 4D)) AS v(x, y, z, nx, ny, nz, values)),
  axes => 'z', real => true);
-- 1	1	3	[10.0,-2.0,-2.0]	[0.0,2.0,0.0]
