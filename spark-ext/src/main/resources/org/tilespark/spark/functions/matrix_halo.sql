SELECT row, col, rows, cols, values FROM matrix_halo(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1, 2)), (0L, 2L, 1, 2, array(3, 4)) AS m(row, col, rows, cols, values)),
  '0,1', edge => 'wrap')
ORDER BY col;
-- 0	-1	1	4	[4,1,2,3]
-- 0	1	1	4	[2,3,4,1]
