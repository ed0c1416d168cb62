SELECT * FROM matrix_from_cells(
  TABLE(SELECT * FROM VALUES (0, 0, 1D), (1, 2, 6D) AS t(row, col, value)),
  rows => 2, cols => 2)
ORDER BY col;
-- 0	0	2	2	[1.0,0.0,0.0,0.0]
-- 0	2	2	1	[0.0,6.0]
