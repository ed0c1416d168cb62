SELECT code, block, found FROM volume_validate(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 2, 1, 2, array(1F, 2F, 3F, 4F)) AS v(x, y, z, nx, ny, nz, values)),
  extents => '2,1,3');
-- hole	block at x 0, y 0, z 2	no block holds the 2 x 1 x 1 elements from there
