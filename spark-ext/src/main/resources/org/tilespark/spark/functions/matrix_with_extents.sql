SELECT code, block FROM matrix_validate(
  TABLE(SELECT * FROM matrix_with_extents(
    TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS m(row, col, rows, cols, values)),
    extents => array(2, 3))));
-- hole	block at row 0, col 2
