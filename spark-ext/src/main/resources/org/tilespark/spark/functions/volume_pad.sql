SELECT * FROM volume_pad(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 3, array(1, 2, 3)) AS v(x, y, z, nx, ny, nz, values)),
  '0,0; 0,0; 2,1', 'reflect');
-- 0	0	0	1	1	6	[3,2,1,2,3,2]
