// Prose samples: the same few scenes in many languages, for measuring the token estimate.

export const prose: Readonly<Record<string, readonly string[]>> = {
  English: [
    'This morning a friend and I went to the old library in the north of the city. The wooden shelves are very tall, and the light from the windows falls on old maps and novels. On the second floor we found a book about the history of the river, which describes how people built bridges a hundred years ago and how they dealt with the floods. At noon it started to rain, so we drank tea in the little shop by the entrance and talked about the trip we are planning for next month.',
    "Hi there, I'd like to change my flight from Chicago to Denver next Wednesday. My meeting was moved to the afternoon, so anything that leaves after noon would be great. If there's a difference in fare, please charge it to the card I used before. Also, could you tell me whether my baggage allowance changes when I rebook? I don't want to pay twice for the same suitcase. Thanks so much for your help!",
    'When the server receives a request, it first checks whether the user is allowed to make it, and then reads the state of the order from the database. If the result is already cached, it is returned at once without asking the backend. To avoid duplicate submissions, every request carries a unique number; when the same number arrives again, the previous result is returned. Before deploying a new version, run the tests and make sure that the log contains no errors.',
  ],
  'Chinese, simplified': [
    '今天早上我和朋友一起去了城市北边的老图书馆。那里的木头书架很高，阳光从窗户照进来，落在旧地图和小说上。我们在二楼找到一本关于河流历史的书，里面写着一百年前人们怎样修桥、怎样和洪水打交道。中午的时候下起了雨，我们只好在门口的小店里喝茶，一边等雨停，一边讨论下个月的旅行计划。',
    '服务器在收到请求之后，会先检查用户的权限，然后从数据库读取订单的状态。如果缓存里已经有结果，就直接返回，不再访问后端。为了避免重复提交，每个请求都带有唯一的编号；同样的编号再次出现时，系统只返回上一次的结果。部署新版本之前，请先运行测试，并确认日志里没有错误信息。',
    '您好，我想修改下周三从上海到北京的机票。原来的航班是上午九点，现在因为会议改到下午，希望能换成中午十二点以后起飞的班次。如果需要补差价，请从之前的信用卡扣款。另外，我还想问一下，行李额度会不会因为改签而发生变化？谢谢您的帮助。',
  ],
  'Chinese, traditional': [
    '今天早上我和朋友一起去了城市北邊的老圖書館。那裡的木頭書架很高，陽光從窗戶照進來，落在舊地圖和小說上。我們在二樓找到一本關於河流歷史的書，裡面寫著一百年前人們怎樣修橋、怎樣和洪水打交道。中午的時候下起了雨，我們只好在門口的小店裡喝茶，一邊等雨停，一邊討論下個月的旅行計畫。',
    '伺服器在收到請求之後，會先檢查使用者的權限，然後從資料庫讀取訂單的狀態。如果快取裡已經有結果，就直接回傳，不再存取後端。為了避免重複提交，每個請求都帶有唯一的編號；同樣的編號再次出現時，系統只回傳上一次的結果。部署新版本之前，請先執行測試，並確認紀錄檔裡沒有錯誤訊息。',
    '您好，我想修改下週三從台北到東京的機票。原來的航班是上午九點，現在因為會議改到下午，希望能換成中午十二點以後起飛的班次。如果需要補差額，請從之前的信用卡扣款。另外，我還想問一下，行李額度會不會因為改簽而發生變化？謝謝您的幫助。',
  ],
  Japanese: [
    '今朝は友人と一緒に、町の北にある古い図書館へ行きました。木の本棚はとても高く、窓から差し込む光が古い地図や小説の上に落ちていました。二階で川の歴史についての本を見つけ、百年前の人々がどのように橋を架け、洪水と向き合ってきたのかを読みました。昼ごろに雨が降り出したので、入口の小さな店でお茶を飲みながら、来月の旅行の計画を話し合いました。',
    'サーバーはリクエストを受け取ると、まずユーザーの権限を確認し、それからデータベースで注文の状態を読み込みます。キャッシュに結果がある場合は、そのまま返して、バックエンドには問い合わせません。二重送信を防ぐため、すべてのリクエストには一意の番号が付いています。新しいバージョンを公開する前に、テストを実行し、ログにエラーがないことを確認してください。',
    'お世話になっております。来週水曜日の東京発大阪行きの便を変更したいのですが、可能でしょうか。会議が午後に変わったため、正午以降に出発する便に振り替えていただけると助かります。差額が必要な場合は、前回と同じクレジットカードでお支払いします。よろしくお願いいたします。',
  ],
  Korean: [
    '오늘 아침 나는 친구와 함께 도시 북쪽에 있는 오래된 도서관에 갔다. 나무 책장은 아주 높았고, 창문으로 들어온 햇빛이 낡은 지도와 소설책 위에 내려앉았다. 우리는 이층에서 강의 역사에 관한 책을 한 권 찾았는데, 백 년 전 사람들이 어떻게 다리를 놓고 홍수를 견뎠는지 적혀 있었다. 점심때부터 비가 내려서 입구 옆 작은 가게에서 차를 마시며 다음 달 여행 계획을 이야기했다.',
    '서버는 요청을 받으면 먼저 사용자의 권한을 확인하고, 데이터베이스에서 주문 상태를 읽습니다. 캐시에 결과가 있으면 바로 돌려주고 백엔드에는 접근하지 않습니다. 중복 제출을 막기 위해 모든 요청에는 고유한 번호가 있으며, 같은 번호가 다시 오면 이전 결과를 그대로 반환합니다. 새 버전을 배포하기 전에 테스트를 실행하고 로그에 오류가 없는지 확인하세요.',
  ],
  Russian: [
    'Сегодня утром мы с другом отправились в старую библиотеку на севере города. Деревянные полки там очень высокие, и свет из окна падает на старые карты и романы. На втором этаже мы нашли книгу об истории реки: в ней рассказано, как сто лет назад люди строили мосты и боролись с наводнениями. Днём пошёл дождь, и нам пришлось пить чай в маленьком кафе у входа, обсуждая планы поездки в следующем месяце.',
    'Получив запрос, сервер сначала проверяет права пользователя, а затем читает состояние заказа из базы данных. Если результат уже есть в кэше, он возвращается сразу, без обращения к серверной части. Чтобы избежать повторной отправки, каждый запрос имеет уникальный номер. Перед выпуском новой версии запустите тесты и убедитесь, что в журнале нет сообщений об ошибках.',
  ],
  Ukrainian: [
    'Сьогодні вранці ми з другом вирушили до старої бібліотеки на півночі міста. Деревʼяні полиці там дуже високі, і світло з вікна падає на старі мапи та романи. На другому поверсі ми знайшли книжку про історію річки: у ній розповідається, як сто років тому люди будували мости й боролися з повенями. Удень пішов дощ, і нам довелося пити чай у маленькій кавʼярні біля входу.',
  ],
  Arabic: [
    'ذهبت هذا الصباح مع صديقي إلى المكتبة القديمة في شمال المدينة. رفوفها الخشبية عالية جدا، وكان ضوء الشمس يدخل من النافذة ويسقط على الخرائط والروايات القديمة. وجدنا في الطابق الثاني كتابا عن تاريخ النهر، يحكي كيف بنى الناس الجسور قبل مئة عام وكيف واجهوا الفيضانات. وعند الظهر نزل المطر، فشربنا الشاي في المقهى الصغير قرب المدخل وتحدثنا عن رحلة الشهر القادم.',
    'عندما يستلم الخادم الطلب يتحقق أولا من صلاحيات المستخدم، ثم يقرأ حالة الطلب من قاعدة البيانات. إذا كانت النتيجة موجودة في الذاكرة المؤقتة فإنها تعاد مباشرة دون الرجوع إلى النظام الخلفي. قبل نشر النسخة الجديدة يرجى تشغيل الاختبارات والتأكد من عدم وجود أخطاء في السجل.',
  ],
  Hebrew: [
    'הבוקר הלכתי עם חבר לספרייה הישנה בצפון העיר. מדפי העץ שם גבוהים מאוד, ואור השמש נכנס מהחלון ונופל על מפות ישנות ועל ספרים. בקומה השנייה מצאנו ספר על תולדות הנהר, ובו מסופר איך בנו אנשים גשרים לפני מאה שנה ואיך התמודדו עם שיטפונות. בצהריים התחיל לרדת גשם, ושתינו תה בבית קפה קטן ליד הכניסה.',
  ],
  Greek: [
    'Σήμερα το πρωί πήγα με έναν φίλο στην παλιά βιβλιοθήκη στα βόρεια της πόλης. Τα ξύλινα ράφια είναι πολύ ψηλά και το φως από το παράθυρο πέφτει πάνω στους παλιούς χάρτες και τα μυθιστορήματα. Στον δεύτερο όροφο βρήκαμε ένα βιβλίο για την ιστορία του ποταμού, που περιγράφει πώς έχτιζαν γέφυρες οι άνθρωποι πριν από εκατό χρόνια.',
  ],
  Thai: [
    'เช้านี้ฉันกับเพื่อนไปที่ห้องสมุดเก่าทางตอนเหนือของเมือง ชั้นหนังสือไม้สูงมาก แสงแดดส่องผ่านหน้าต่างลงบนแผนที่และนิยายเก่า เราพบหนังสือเกี่ยวกับประวัติศาสตร์ของแม่น้ำที่ชั้นสอง ในนั้นเล่าว่าเมื่อร้อยปีก่อนผู้คนสร้างสะพานและรับมือกับน้ำท่วมอย่างไร ตอนเที่ยงฝนตก เราจึงดื่มชาที่ร้านเล็ก ๆ หน้าประตูและคุยกันเรื่องแผนการเดินทางเดือนหน้า',
  ],
  Hindi: [
    'आज सुबह मैं अपने मित्र के साथ शहर के उत्तर में स्थित पुराने पुस्तकालय गया। वहाँ लकड़ी की अलमारियाँ बहुत ऊँची हैं और खिड़की से आती धूप पुराने नक्शों और उपन्यासों पर पड़ती है। दूसरी मंज़िल पर हमें नदी के इतिहास के बारे में एक किताब मिली, जिसमें लिखा है कि सौ साल पहले लोग कैसे पुल बनाते थे और बाढ़ का सामना करते थे। दोपहर में बारिश होने लगी, इसलिए हमने चाय पी।',
  ],
  German: [
    'Heute Morgen ging ich mit einem Freund in die alte Bibliothek im Norden der Stadt. Die hölzernen Regale sind sehr hoch, und das Licht fällt durch die Fenster auf alte Landkarten und Romane. Im zweiten Stock fanden wir ein Buch über die Geschichte des Flusses. Es beschreibt, wie die Menschen vor hundert Jahren Brücken bauten und mit Überschwemmungen umgingen. Mittags begann es zu regnen, also tranken wir Tee und besprachen die Reise im nächsten Monat.',
  ],
  French: [
    "Ce matin, je suis allé avec un ami à la vieille bibliothèque au nord de la ville. Les étagères en bois y sont très hautes, et la lumière de la fenêtre tombe sur de vieilles cartes et des romans. Au deuxième étage, nous avons trouvé un livre sur l'histoire du fleuve, qui raconte comment les gens construisaient des ponts il y a cent ans et faisaient face aux inondations. À midi, il s'est mis à pleuvoir.",
  ],
  Spanish: [
    'Esta mañana fui con un amigo a la vieja biblioteca del norte de la ciudad. Las estanterías de madera son muy altas y la luz de la ventana cae sobre mapas antiguos y novelas. En el segundo piso encontramos un libro sobre la historia del río, que cuenta cómo la gente construía puentes hace cien años y cómo se enfrentaba a las inundaciones. Al mediodía empezó a llover y tuvimos que tomar té en la pequeña tienda.',
  ],
  Polish: [
    'Dziś rano poszedłem z przyjacielem do starej biblioteki na północy miasta. Drewniane półki są bardzo wysokie, a światło z okna pada na stare mapy i powieści. Na drugim piętrze znaleźliśmy książkę o historii rzeki, która opisuje, jak sto lat temu ludzie budowali mosty i radzili sobie z powodziami. W południe zaczęło padać, więc piliśmy herbatę w małym sklepie przy wejściu.',
  ],
  Turkish: [
    'Bu sabah bir arkadaşımla şehrin kuzeyindeki eski kütüphaneye gittim. Ahşap raflar çok yüksek ve pencereden gelen ışık eski haritaların ve romanların üzerine düşüyor. İkinci katta nehrin tarihi hakkında bir kitap bulduk; yüz yıl önce insanların nasıl köprü yaptığını ve sellerle nasıl başa çıktığını anlatıyor. Öğlen yağmur başladı, biz de girişteki küçük dükkânda çay içtik.',
  ],
  Vietnamese: [
    'Sáng nay tôi cùng một người bạn đến thư viện cũ ở phía bắc thành phố. Những kệ sách bằng gỗ rất cao, ánh sáng từ cửa sổ chiếu xuống những tấm bản đồ và tiểu thuyết cũ. Ở tầng hai chúng tôi tìm thấy một cuốn sách về lịch sử con sông, kể rằng một trăm năm trước người ta xây cầu và chống lũ như thế nào. Buổi trưa trời mưa nên chúng tôi uống trà ở quán nhỏ cạnh cửa.',
  ],
  emoji: [
    'Shipped it 🎉🚀 The build is green ✅ and the flaky test is gone 🐛🔨. Thanks everyone 🙏❤️ — on to the next one 💪! Known problems: ⚠️ slow start on Windows, ❌ no offline mode yet, 🔍 search ignores accents. Reactions so far: 👍 12, 😂 3, 😍 5, 🤔 1. Roadmap 📅: 🧪 more tests, 📦 smaller package, 🌍 translations, 🔒 audit.',
  ],
}
