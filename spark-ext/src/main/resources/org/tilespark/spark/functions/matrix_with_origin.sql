SELECT * FROM matrix_with_origin(
  TABLE(SELECT * FROM VALUES (4L, 6L, 1, 2, array(1, 2)) AS m(row, col, rows, cols, values)));
-- 0	0	1	2	[1,2]
