SELECT * FROM matrix_multiply(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(5D, 6D, 7D, 8D)) AS b(row, col, rows, cols, values)));
-- 0	0	2	2	[19.0,22.0,43.0,50.0]

SELECT * FROM matrix_multiply(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(5D, 6D, 7D, 8D)) AS b(row, col, rows, cols, values)),
  transposeB => true, blockShape => array(1, 2))
ORDER BY row;
-- 0	0	1	2	[17.0,23.0]
-- 1	0	1	2	[39.0,53.0]

SELECT values, imag FROM matrix_multiply(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D), array(3D, 4D)) AS a(row, col, rows, cols, values, imag)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(5Y, 6Y)) AS b(row, col, rows, cols, values)),
  transposeB => true, conjugateA => true);
-- [17.0]	[-39.0]
