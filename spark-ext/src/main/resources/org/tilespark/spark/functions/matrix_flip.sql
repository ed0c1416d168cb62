SELECT * FROM matrix_flip(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 4, array(1, 2, 3, 4, 5, 6, 7, 8)) AS m(row, col, rows, cols, values)),
  axes => 'col');
-- 0	0	2	4	[4,3,2,1,8,7,6,5]
