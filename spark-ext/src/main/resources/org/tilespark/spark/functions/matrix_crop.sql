SELECT * FROM matrix_crop(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 4, array(1, 2, 3, 4, 5, 6, 7, 8)) AS m(row, col, rows, cols, values)),
  widths => '1,0; 1,2');
-- 0	0	1	1	[6]
