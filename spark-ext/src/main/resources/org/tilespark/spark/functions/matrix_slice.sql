SELECT * FROM matrix_slice(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 4, array(1, 2, 3, 4, 5, 6, 7, 8)) AS m(row, col, rows, cols, values)),
  slices => '1:, ::2');
-- 0	0	1	2	[5,7]

SELECT * FROM matrix_slice(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 4, array(1, 2, 3, 4, 5, 6, 7, 8)) AS m(row, col, rows, cols, values)),
  slices => '..., -1');
-- 0	0	2	1	[4,8]
