SELECT * FROM matrix_concat(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1, 2)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(3, 4, 5, 6)) AS b(row, col, rows, cols, values)),
  axis => 'row');
-- 0	0	1	2	[1,2]
-- 1	0	2	2	[3,4,5,6]
