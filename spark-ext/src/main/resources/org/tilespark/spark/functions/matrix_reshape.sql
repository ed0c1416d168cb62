SELECT * FROM matrix_reshape(
  TABLE(SELECT * FROM VALUES (0L, 0L, 4, 2, array(1, 2, 3, 4, 5, 6, 7, 8)) AS m(row, col, rows, cols, values)),
  '2,2,2');
-- 0	0	0	2	2	2	[1,2,3,4,5,6,7,8]
