SELECT * FROM matrix_knn(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 0D, 0D, 2D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 1D, 3D, 0D, 0D, 5D)) AS b(row, col, rows, cols, values)),
  2, 'inner')
ORDER BY query, rank;
-- 0	1	1	3.0
-- 0	0	2	1.0
-- 1	2	1	10.0
-- 1	0	2	2.0
