SELECT * FROM matrix_corrcoef(
  TABLE(SELECT * FROM VALUES (0L, 0L, 4, 2, array(1D, 3D, -1D, 3D, 1D, -3D, -1D, -3D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[1.0,0.0,0.0,1.0]
