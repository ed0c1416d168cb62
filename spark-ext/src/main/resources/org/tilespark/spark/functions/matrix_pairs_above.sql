SELECT * FROM matrix_pairs_above(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 0D, 0D, 2D)) AS a(row, col, rows, cols, values)),
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(1D, 1D, 3D, 0D, 0D, 5D)) AS b(row, col, rows, cols, values)),
  threshold => 1, metric => 'euclidean')
ORDER BY query, neighbour;
-- 0	0	1.0
