SELECT * FROM matrix_stack(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1, 2)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(3, 4)) AS b(row, col, rows, cols, values)));
-- 0	0	0	1	1	2	[1,2]
-- 1	0	0	1	1	2	[3,4]
