SELECT * FROM volume_frequencies(
  TABLE(SELECT * FROM volume_fft(
    TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 4, array(1D, 2D, 3D, 4D)) AS v(x, y, z, nx, ny, nz, values)),
    axes => 'z')))
ORDER BY index;
-- z	0	0.0
-- z	1	0.25
-- z	2	-0.5
-- z	3	-0.25
