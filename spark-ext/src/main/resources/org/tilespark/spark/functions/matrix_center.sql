SELECT * FROM matrix_center(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 10D, 3D, 20D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[-1.0,-5.0,1.0,5.0]
