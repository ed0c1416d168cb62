SELECT row, col, rows, cols, transform(values, v -> round(abs(v), 6)) AS sizes, factor FROM matrix_qr(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(3D, 1D, 4D, 3D)) AS a(row, col, rows, cols, values)));
-- 0	0	2	2	[0.6,0.8,0.8,0.6]	q
-- 0	0	2	2	[5.0,3.0,0.0,1.0]	r
