SELECT * FROM matrix_pad(
  TABLE(SELECT * FROM VALUES (0L, 0L, 2, 2, array(1D, 2D, 3D, 4D)) AS m(row, col, rows, cols, values)),
  widths => '0,1; 2,0', mode => 'edge');
-- 0	0	3	4	[1.0,1.0,1.0,2.0,3.0,3.0,3.0,4.0,3.0,3.0,3.0,4.0]
SELECT * FROM matrix_pad(
  TABLE(SELECT * FROM VALUES (0L, 0L, 1, 2, array(1, 2)) AS m(row, col, rows, cols, values)),
  '1', value => -1);
-- 0	0	3	4	[-1,-1,-1,-1,-1,1,2,-1,-1,-1,-1,-1]
