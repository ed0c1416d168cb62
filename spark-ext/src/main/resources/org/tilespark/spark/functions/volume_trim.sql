SELECT * FROM volume_trim(
  TABLE(SELECT * FROM VALUES (0L, 0L, -1L, 1, 1, 4, array(0, 1, 2, 0)) AS v(x, y, z, nx, ny, nz, values)),
  widths => '0,0,1');
-- 0	0	0	1	1	2	[1,2]
