SELECT * FROM matrix_to_rows(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS m(row, col, rows, cols, values)),
  'features');
-- 0	[1.0,2.0]
-- 1	[3.0,4.0]
