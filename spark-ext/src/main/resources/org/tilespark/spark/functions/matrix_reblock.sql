SELECT * FROM matrix_reblock(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 3, array(1D, 2D, 3D, 4D, 5D, 6D)) AS m(row, col, rows, cols, values)),
  rows => 2, cols => 2)
ORDER BY col;
-- 0	0	2	2	[1.0,2.0,4.0,5.0]
-- 0	2	2	1	[3.0,6.0]
