SELECT row, col, rows, cols, hex(data) AS bytes FROM matrix_pack(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 3, array(1D, 2D, 3D)) AS m(row, col, rows, cols, values)),
  dtype => 'int16');
-- 0	0	1	3	010002000300
