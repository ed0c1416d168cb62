SELECT * FROM volume_crop(
  TABLE(SELECT * FROM VALUES (0L, 0L, 0L, 1, 1, 6, array(3, 2, 1, 2, 3, 2)) AS v(x, y, z, nx, ny, nz, values)),
  '0,0; 0,0; 2,1');
-- 0	0	0	1	1	3	[1,2,3]
