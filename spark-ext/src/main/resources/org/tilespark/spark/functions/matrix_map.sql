SELECT * FROM matrix_map(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 4D, 9D, 16D)) AS a(row, col, rows, cols, values)),
  'sqrt(v) * 2 + 1');
-- 0	0	2	2	[3.0,5.0,7.0,9.0]

SELECT * FROM matrix_map(
  TABLE(SELECT * FROM VALUES (1L, 0L, 1, 3, array(5, 6, 7)) AS a(row, col, rows, cols, values)),
  'if(col > row, 0, v)');
-- 1	0	1	3	[5,6,0]

SELECT * FROM matrix_map(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 3, array(1D, 2D, 3D)) AS a(row, col, rows, cols, values)),
  'v * scale + shift', scale => 0.5, shift => 10);
-- 0	0	1	3	[10.5,11.0,11.5]
