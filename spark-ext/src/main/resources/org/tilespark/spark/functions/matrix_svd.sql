SELECT row, col, rows, cols, transform(values, v -> round(abs(v), 6)) AS sizes, factor FROM matrix_svd(
  TABLE(SELECT * FROM VALUES (0L, 0L, 3, 2, array(0D, 2D, 3D, 0D, 0D, 0D)) AS a(row, col, rows, cols, values)));
-- 0	0	3	2	[0.0,1.0,1.0,0.0,0.0,0.0]	u
-- 0	0	2	1	[3.0,2.0]	s
-- 0	0	2	2	[1.0,0.0,0.0,1.0]	vt
