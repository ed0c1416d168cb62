SELECT * FROM matrix_zip(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(5, 6, 7, 8)) AS b(row, col, rows, cols, values)),
  'a * b - 0.5');
-- 0	0	2	2	[4.5,11.5,20.5,31.5]

SELECT * FROM matrix_zip(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(10D, 20D)) AS b(row, col, rows, cols, values)),
  'a + b');
-- 0	0	2	2	[11.0,22.0,13.0,24.0]
