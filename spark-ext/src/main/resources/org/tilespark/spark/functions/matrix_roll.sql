SELECT * FROM matrix_roll(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 3, array(1, 2, 3, 4, 5, 6)) AS m(row, col, rows, cols, values)),
  '0,1');
-- 0	0	2	3	[3,1,2,6,4,5]
