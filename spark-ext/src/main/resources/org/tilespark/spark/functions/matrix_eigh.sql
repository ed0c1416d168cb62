SELECT row, col, rows, cols, transform(values, v -> round(abs(v), 6)) AS sizes, factor FROM matrix_eigh(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(3D, 0D, 0D, 2D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	1	[2.0,3.0]	values
-- 0	0	2	2	[0.0,1.0,1.0,0.0]	vectors
