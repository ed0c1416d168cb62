SELECT * FROM matrix_trim(TABLE(
  SELECT row, col, rows, cols, transform(values, v -> v * 10) AS values FROM matrix_halo(
    TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1, 2)), (0L, 2L, 1, 2, array(3, 4)) AS m(row, col, rows, cols, values)),
    '0,1')))
ORDER BY col;
-- 0	0	1	2	[10,20]
-- 0	2	1	2	[30,40]
