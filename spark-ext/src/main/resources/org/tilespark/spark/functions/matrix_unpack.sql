SELECT * FROM matrix_unpack(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 3, X'010002000300') AS m(row, col, rows, cols, data)),
  dtype => 'int16');
-- 0	0	1	3	[1,2,3]
