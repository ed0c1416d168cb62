SELECT values, imag FROM volume_band_pass(
  TABLE(SELECT * FROM volume_fft(
    TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 4, array(1D, 2D, 3D, 4D)) AS v(x, y, z, nx, ny, nz, values)),
    axes => 'z')),
  low => 0.2, high => 0.3);
-- [0.0,-2.0,0.0,-2.0]	[0.0,2.0,0.0,-2.0]
