SELECT * FROM matrix_add(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(5D, 6D, 7D, 8D)) AS b(row, col, rows, cols, values)));
-- 0	0	2	2	[6.0,8.0,10.0,12.0]

SELECT * FROM matrix_add(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (1L, 0L, 1, 2, array(7D, 8D)) AS b(row, col, rows, cols, values)),
  missing => 'zero')
ORDER BY row;
-- 0	0	1	2	[1.0,2.0]
-- 1	0	1	2	[7.0,8.0]

SELECT * FROM matrix_add(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 4, array(1D, 1D, 1D, 1D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 2L, 1, 2, array(10D, 10D)) AS b(row, col, rows, cols, values)),
  missing => 'zero');
-- 0	0	1	4	[1.0,1.0,11.0,11.0]
