SELECT * FROM matrix_validate(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1D, 2D, 3D)) AS m(row, col, rows, cols, values)));
-- wrongLength	block at row 0, col 0	values has 3 elements	rows 1 * cols 2 = 2

SELECT count(*) FROM matrix_validate(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS m(row, col, rows, cols, values)));
-- 0
