SELECT * FROM matrix_scale(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  alpha => 0.5);
-- 0	0	2	2	[0.5,1.0,1.5,2.0]
