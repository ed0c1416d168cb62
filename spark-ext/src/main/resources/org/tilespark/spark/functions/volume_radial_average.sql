SELECT * FROM volume_radial_average(
  TABLE(SELECT * FROM volume_fft(
    TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 4, array(1D, 2D, 3D, 4D)) AS v(x, y, z, nx, ny, nz, values)),
    axes => 'z')))
ORDER BY frequency;
-- 0.0	100.0	1
-- 0.25	8.0	2
-- 0.5	4.0	1
